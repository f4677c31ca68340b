import t from 'tap';
import { startApi } from './helpers/api.ts';
t.test('smoke', async (t) => {
  const api = await startApi(t);
  for (const [m,p,b] of [['GET','/platform'],['GET','/openapi'],['GET','/health/ready'],['GET','/nowhere'],['PUT','/platform',{}],['GET','/user/currentUser'],
    ['POST','/inventory/managedObjects',{name:'x',a:{}}],['GET','/inventory/managedObjects/1001'],['POST','/event/events',{source:{id:'1001'},type:'a',text:'b',time:'2024-01-01T00:00:00Z'}],
    ['POST','/event/events',{}],['GET','/event/events/1002/'],['GET','/alarm/alarms?pageSize=0'],['POST','/measurement/measurements',{}],['GET','/measurement/measurements?source=1&withTotalPages=true&revert=true']] as any) {
    const r = await api.call(m,p,{body:b});
    console.error(m,p,r.status,r.headers.get('content-type'),r.headers.get('location'),r.text.slice(0,300));
  }
  console.error(api.fake.failures, api.fake.asked);
});
