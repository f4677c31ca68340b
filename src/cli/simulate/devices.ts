/**
 * The simulated devices: pure state machines that say what they would publish to s/us next (SmartREST static
 * templates).
 */
import { Random } from './random.ts';

export interface SimulatedDevice {
  readonly clientId: string;
  /** The rows that make the device known: sent first, once. */
  hello(): string;
  /** The next message. @param timeMs the time of day moves the daily curve; wall clock. */
  next(timeMs: number): string;
}

const DAY_MS = 24 * 60 * 60 * 1000;

/** Of this many devices the numbers below are thermometers and machines; the others are trackers. */
const KINDS_OF = 20;
const THERMOMETERS = 12;
const MACHINES = 5;

/** The device of that index: the same index and seed make the same device with the same behaviour. */
export function simulatedDevice(index: number, seed: number): SimulatedDevice {
  const random = new Random(Math.imul(seed + 1, 0x9e3779b1) + Math.imul(index + 1, 0x85ebca6b));
  const clientId = `sim-${seed}-${index}`;
  const kind = index % KINDS_OF;
  if (kind < THERMOMETERS) return new Thermometer(clientId, index, random);
  return kind < THERMOMETERS + MACHINES ? new Machine(clientId, index, random) : new Tracker(clientId, index, random);
}

/** A temperature that follows the sun, with weather and noise; now and then humidity beside it in one measurement. */
class Thermometer implements SimulatedDevice {
  readonly clientId: string;
  private readonly name: string;
  private readonly random: Random;
  private readonly mean: number;
  private readonly swing: number;
  private readonly phaseMs: number;
  private weather = 0;

  constructor(clientId: string, index: number, random: Random) {
    this.clientId = clientId;
    this.name = `Thermometer ${index}`;
    this.random = random;
    this.mean = random.between(8, 24);
    this.swing = random.between(2, 8);
    this.phaseMs = random.between(-2, 2) * 60 * 60 * 1000;
  }

  hello(): string {
    return `100,${this.name},sim_Thermometer\n117,15`;
  }

  next(timeMs: number): string {
    // The warmest hour is three in the afternoon, the coldest three at night.
    const angle = (2 * Math.PI * ((timeMs + this.phaseMs) % DAY_MS)) / DAY_MS;
    this.weather = this.weather * 0.98 + this.random.between(-0.2, 0.2);
    const temperature = this.mean - this.swing * Math.cos(angle - Math.PI / 4) + this.weather;
    const text = temperature.toFixed(2);
    if (!this.random.chance(0.2)) return `211,${text}`;
    const humidity = Math.min(99, Math.max(15, 75 - 1.5 * (temperature - 10) + this.random.between(-2, 2))).toFixed(1);
    return `201,sim_Climate,,sim_Climate,T,${text},C,sim_Climate,H,${humidity},%`;
  }
}

/**
 * A machine that idles, runs, overheats and is repaired: measurements, events at each change, alarms while it is ill.
 */
class Machine implements SimulatedDevice {
  readonly clientId: string;
  private readonly name: string;
  private readonly random: Random;
  private state: 'idle' | 'running' | 'overheated' = 'idle';
  private temperature = 25;
  private isWarned = false;

  constructor(clientId: string, index: number, random: Random) {
    this.clientId = clientId;
    this.name = `Machine ${index}`;
    this.random = random;
  }

  hello(): string {
    return `100,${this.name},sim_Machine\n114,c8y_Restart,c8y_Command\n117,5`;
  }

  next(): string {
    if (this.state === 'idle') return this.random.chance(0.1) ? this.change('running') : this.reading(0, 0);
    if (this.state === 'running') return this.whileRunning();
    this.temperature -= 1.5;
    if (this.temperature > 40) {
      return this.random.chance(0.1) ? '305,sim_Overheated,MAJOR' : this.reading(0, 0);
    }
    return `306,sim_Overheated\n${this.change('idle')}`;
  }

  private whileRunning(): string {
    this.temperature += this.random.between(-1, 1.6) + (60 - this.temperature) * 0.02;
    if (this.temperature > 80) {
      this.isWarned = false;
      return `306,sim_Warm\n301,sim_Overheated,Spindle at ${this.temperature.toFixed(1)} C\n${this.change('overheated')}`;
    }
    if (this.temperature > 72 && !this.isWarned) {
      this.isWarned = true;
      return `304,sim_Warm,Spindle at ${this.temperature.toFixed(1)} C`;
    }
    if (this.temperature < 66 && this.isWarned) {
      this.isWarned = false;
      return '306,sim_Warm';
    }
    if (this.random.chance(0.004)) return '303,sim_FilterDirty,Filter is due for cleaning';
    if (this.random.chance(0.002)) return '302,sim_PressureLow,Coolant pressure is low';
    if (this.random.chance(0.02)) return this.change('idle');
    return this.reading(1480 + this.random.between(-20, 20), this.random.between(40, 90));
  }

  private change(state: 'idle' | 'running' | 'overheated'): string {
    this.state = state;
    return `400,sim_StateChange,Machine is ${state}`;
  }

  private reading(speed: number, load: number): string {
    return (
      `201,sim_Machine,,sim_Machine,speed,${speed.toFixed(0)},rpm,sim_Machine,load,${load.toFixed(1)},%,` +
      `sim_Machine,T,${this.temperature.toFixed(1)},C`
    );
  }
}

/** A vehicle that drives on a heading it changes slowly, with a battery that empties and is charged. */
class Tracker implements SimulatedDevice {
  readonly clientId: string;
  private readonly name: string;
  private readonly random: Random;
  private latitude: number;
  private longitude: number;
  private heading: number;
  private battery: number;

  constructor(clientId: string, index: number, random: Random) {
    this.clientId = clientId;
    this.name = `Tracker ${index}`;
    this.random = random;
    this.latitude = random.between(47.5, 54.5);
    this.longitude = random.between(6.5, 14.5);
    this.heading = random.between(0, 2 * Math.PI);
    this.battery = random.between(40, 100);
  }

  hello(): string {
    return `100,${this.name},sim_Tracker\n117,30`;
  }

  next(): string {
    this.battery = this.battery < 5 ? 100 : this.battery - 0.05;
    if (this.random.chance(0.1)) return `212,${this.battery.toFixed(1)}`;
    // About 60 m a step, bounded to a box so that no vehicle leaves the map.
    this.heading += this.random.between(-0.3, 0.3);
    const latitude = this.latitude + 0.0005 * Math.cos(this.heading);
    const longitude = this.longitude + 0.0008 * Math.sin(this.heading);
    if (latitude < 47 || latitude > 55 || longitude < 6 || longitude > 15) this.heading += Math.PI;
    else [this.latitude, this.longitude] = [latitude, longitude];
    const altitude = this.random.between(80, 120).toFixed(0);
    const accuracy = this.random.between(2, 15).toFixed(0);
    return `402,${this.latitude.toFixed(6)},${this.longitude.toFixed(6)},${altitude},${accuracy}`;
  }
}
