// What the UI reads of the REST API's objects, under the API's own names. Texts in the API that hold JSON stay texts here.

export interface Progress {
  total_percentage?: number;
  finalizing_stage?: string;
}

/** A name that the service keeps in a domain for a cluster. */
export interface DnsRecord {
  name: string;
  type: string;
  address: string;
}

export interface Cluster {
  id: string;
  kind: string;
  name: string;
  status: string;
  status_info: string;
  status_updated_at: string;
  openshift_version?: string;
  base_dns_domain?: string;
  dns_records?: DnsRecord[];
  control_plane_count?: number;
  install_started_at?: string;
  install_completed_at?: string;
  updated_at: string;
  deleted_at?: string | null;
  progress?: Progress;
  hosts?: Host[];
  total_host_count?: number;
}

export interface HostProgress {
  current_stage?: string;
  progress_info?: string;
  installation_percentage?: number;
  stage_started_at?: string;
}

export interface Host {
  id: string;
  cluster_id?: string;
  infra_env_id?: string;
  status: string;
  status_info: string;
  role?: string;
  suggested_role?: string;
  bootstrap?: boolean;
  requested_hostname?: string;
  installation_disk_id?: string;
  inventory?: string;
  connectivity?: string;
  validations_info?: string;
  progress?: HostProgress;
  progress_stages?: string[];
  updated_at: string;
  deleted_at?: string | null;
}

export interface Disk {
  id?: string;
  name?: string;
  path?: string;
  drive_type?: string;
  model?: string;
  size_bytes?: number;
  installation_eligibility?: { eligible?: boolean; not_eligible_reasons?: string[] | null };
}

export interface Interface {
  name?: string;
  mac_address?: string;
  speed_mbps?: number;
  ipv4_addresses?: string[] | null;
  ipv6_addresses?: string[] | null;
}

export interface Inventory {
  hostname?: string;
  cpu?: { count?: number; model_name?: string; architecture?: string };
  memory?: { physical_bytes?: number };
  disks?: Disk[] | null;
  interfaces?: Interface[] | null;
  system_vendor?: { manufacturer?: string; product_name?: string; serial_number?: string };
}

export interface RemoteHost {
  host_id: string;
  l2_connectivity?: { successful?: boolean }[] | null;
  l3_connectivity?:
    | { successful?: boolean; average_rtt_ms?: number; packet_loss_percentage?: number }[]
    | null;
}

export interface Event {
  name?: string;
  cluster_id?: string;
  host_id?: string;
  infra_env_id?: string;
  severity: 'info' | 'warning' | 'error' | 'critical';
  message: string;
  event_time: string;
}

export interface Validation {
  id: string;
  category: string;
  status: 'success' | 'failure' | 'pending' | 'error' | 'disabled';
  message: string;
  measured?: string;
  required?: string;
  remedy?: string;
  /** Address of the section about it. */
  help: string;
}

export interface InfraEnv {
  id: string;
  name: string;
  type: string;
  cluster_id?: string;
  openshift_version?: string;
  cpu_architecture?: string;
  download_url?: string;
  expires_at?: string;
}

export interface ImageState {
  state: 'ready' | 'waiting' | 'failed' | 'unknown';
  message?: string;
  error?: string;
  received_bytes?: number;
  total_bytes?: number;
  retry_after_seconds?: number;
}

export interface MachineAction {
  what: string;
  state: 'running' | 'done' | 'failed';
  started_at: string;
  ended_at?: string;
  message?: string;
}

export interface Machine {
  id: string;
  name: string;
  system: string;
  user: string;
  insecure: boolean;
  power?: string;
  problem?: string;
  action?: MachineAction;
}

export interface NewMachine {
  name: string;
  system: string;
  user: string;
  password: string;
  insecure: boolean;
}

export interface LoginMethods {
  password: boolean;
  provider: boolean;
}

export interface Me {
  user: { name: string; organisation?: string };
  role: 'viewer' | 'editor' | 'admin';
}
